"""Classes outside the tree whose attributes are known, so that a model built on them can be judged.

The names of PyTorch's classes are those of 2.9, which have only ever grown; those of ``transformers`` are what 4.57
and 5.3 have together.
"""

from __future__ import annotations

from patchctl.contract.program import External


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MODULE = _names(
    """
    T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches eval
    extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half ipu load_state_dict modules
    mtia named_buffers named_children named_modules named_parameters parameters register_backward_hook register_buffer
    register_forward_hook register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook
    register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module register_parameter
    register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule
    share_memory state_dict to to_empty train training type xpu zero_grad
    __call__ __getattr__ __setattr__ _apply _backward_hooks _buffers _call_impl _forward_hooks _forward_pre_hooks
    _get_name _load_from_state_dict _modules _named_members _non_persistent_buffers_set _parameters
    _save_to_state_dict _version
    """
)
_LIST = _names("append extend insert pop __getitem__ __setitem__ __delitem__ __iter__ __len__")
_PRETRAINED = _MODULE | _names(
    """
    active_adapters add_adapter add_memory_hooks add_model_tags all_tied_weights_keys base_model base_model_prefix
    can_generate can_record_outputs config config_class create_extended_attention_mask_for_decoder delete_adapter
    dequantize device disable_adapters disable_input_require_grads dtype dummy_inputs enable_adapters
    enable_input_require_grads enable_peft_hotswap estimate_tokens floating_point_ops framework from_pretrained
    generation_config get_adapter_state_dict get_compiled_call get_correct_attn_implementation
    get_correct_experts_implementation get_decoder get_encoder get_expanded_tied_weights_keys
    get_extended_attention_mask get_head_mask get_init_context get_input_embeddings get_memory_footprint
    get_output_embeddings get_parameter_or_buffer get_position_embeddings gradient_checkpointing
    gradient_checkpointing_disable gradient_checkpointing_enable init_weights initialize_weights input_modalities
    invert_attention_mask is_backend_compatible is_gradient_checkpointing is_parallelizable is_remote_code kernelize
    load_adapter loss_function loss_type main_input_name mark_tied_weights_as_initialized model_tags name_or_path
    named_non_persistent_buffers num_parameters post_init pp_plan prune_heads push_to_hub register_for_auto_class
    reset_memory_hooks_state resize_position_embeddings resize_token_embeddings retrieve_modules_from_names
    reverse_bettertransformer save_pretrained set_adapter set_attn_implementation set_decoder set_encoder
    set_experts_implementation set_input_embeddings set_output_embeddings set_use_kernels
    supports_gradient_checkpointing supports_pp_plan supports_tp_plan tie_embeddings_and_encoder_decoder tie_weights
    to_bettertransformer tp_plan tp_size use_kernels warn_if_padding_and_no_attention_mask warnings_issued
    """
)
_KNOWN: dict[str, frozenset[str]] = {
    "object": frozenset(),
    "abc.ABC": frozenset(),
    "typing.Generic": frozenset(),
    "typing.Protocol": frozenset(),
    "typing_extensions.Protocol": frozenset(),
    "enum.Enum": _names("name value"),
    "enum.IntEnum": _names("name value"),
    "torch.nn.Module": _MODULE,
    "torch.nn.modules.Module": _MODULE,
    "torch.nn.modules.module.Module": _MODULE,
    "torch.nn.ModuleList": _MODULE | _LIST,
    "torch.nn.Sequential": _MODULE | _LIST,
    "torch.nn.Linear": _MODULE | _names("in_features out_features weight bias reset_parameters"),
    "torch.nn.LayerNorm": _MODULE | _names("normalized_shape eps elementwise_affine weight bias reset_parameters"),
    "torch.nn.Embedding": _MODULE
    | _names("num_embeddings embedding_dim padding_idx max_norm norm_type scale_grad_by_freq sparse weight")
    | _names("from_pretrained reset_parameters"),
    "transformers.PreTrainedModel": _PRETRAINED,
    "transformers.modeling_utils.PreTrainedModel": _PRETRAINED,
}
# Every class and object has these.
_OBJECT = frozenset(dir(object)) | _names("__dict__ __module__ __weakref__ __name__ __qualname__ __annotations__")
# They make attributes of what a class only annotates.
_FIELDS = _names("typing.NamedTuple typing.TypedDict msgspec.Struct pydantic.BaseModel dataclasses.dataclass")
_HARMLESS_DECORATORS = _names(
    """
    dataclass dataclasses.dataclass final typing.final runtime_checkable typing.runtime_checkable total_ordering
    functools.total_ordering enum.unique unique torch.no_grad torch.inference_mode
    """
)


def known(base: External) -> bool:
    """Whether every attribute of ``base`` is known."""
    return base.name in _KNOWN or base.name in _FIELDS


def offers(base: External, name: str) -> bool:
    """Whether the known class ``base`` has the attribute ``name``."""
    return name in _KNOWN.get(base.name, ())


def of_object(name: str) -> bool:
    """Whether every object has ``name``."""
    return name in _OBJECT


def makes_fields(name: str) -> bool:
    """Whether the base class or decorator ``name`` makes attributes of annotations."""
    return name in _FIELDS or name == "dataclass"


def harmless(decorator: str) -> bool:
    """Whether a class decorator is known to add no attribute that anybody would call."""
    return decorator in _HARMLESS_DECORATORS
