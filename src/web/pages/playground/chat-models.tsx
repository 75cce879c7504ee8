import type { Model } from '../../../contract/dashboard';
import { Button } from '../../ui/button';
import { Plus, X } from '../../ui/icons';
import { ModelField } from './model-field';

interface ChatModelsProps {
  /** The models that are asked. */
  readonly models: readonly Model[];
  readonly offered: readonly Model[];
  readonly onChange: (modelIds: readonly string[]) => void;
}

const MAX_MODELS = 3;

/** Chooses up to three models. */
export function ChatModels({ models, offered, onChange }: ChatModelsProps) {
  const ids = models.map(({ id }) => id);
  const unused = offered.find(({ id }) => !ids.includes(id));
  return (
    <>
      {models.map((model, index) => (
        <div key={index} className="flex items-end gap-1">
          <div className="min-w-0 grow">
            <ModelField
              label={models.length === 1 ? 'Model' : `Model ${index + 1}`}
              models={offered}
              value={model.id}
              onChange={(next) => onChange(ids.with(index, next))}
            />
          </div>
          {models.length > 1 && (
            <Button variant="quiet" onClick={() => onChange(ids.toSpliced(index, 1))}>
              <X size={16} aria-hidden="true" />
              <span className="sr-only">Remove model {index + 1}</span>
            </Button>
          )}
        </div>
      ))}
      {models.length < MAX_MODELS && unused !== undefined && (
        <Button small onClick={() => onChange([...ids, unused.id])}>
          <Plus size={14} aria-hidden="true" />
          Compare with another model
        </Button>
      )}
    </>
  );
}
